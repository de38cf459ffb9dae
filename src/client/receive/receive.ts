// `fairlead/receive`: what a receiver of Fairlead's webhooks needs. That for Hono is in `fairlead/receive/hono`.
export * from "./calls.ts";
export {
  type Handler,
  type NodeRequest,
  type NodeResponse,
  nodeReceiver,
  type ReceiveOptions,
  receiver,
  type Secrets,
  verifySignature,
} from "./receiver.ts";
