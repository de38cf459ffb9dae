/** For tests that take long on a busy machine: Bun gives each test five seconds unless it says otherwise. */
export const SLOW = { timeout: 120_000 };
