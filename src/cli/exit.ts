/** What a command's exit code says. 78 is the sysexits code for a configuration error: systemd need not restart. */
export const EXIT = { done: 0, failed: 1, usage: 2, config: 78 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
