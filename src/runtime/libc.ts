/** What the C library is called: glibc's, and musl's on the machines that Bun runs on. To be tried in this order. */
export const LIBC_NAMES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
