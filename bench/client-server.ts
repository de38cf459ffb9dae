// Says where it listens, and answers each batch as soon as it is read.
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  async fetch(request) {
    await request.text();
    return new Response('{"success":true}');
  },
});
postMessage(server.url.origin);
