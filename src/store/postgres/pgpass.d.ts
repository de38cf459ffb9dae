declare module "pgpass" {
  type Asked = { host: string; port: number; user: string | undefined; database: string | undefined };
  /** Looks into PGPASSFILE or ~/.pgpass. */
  export default function pgpass(asked: Asked, answer: (password: string | undefined) => void): void;
}
