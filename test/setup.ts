// Loaded by `bun test` before all tests (bunfig.toml). On a busy machine a test may take its time: what it waits for is
// bounded by the test itself, and this bound only ends one that hangs.
import { setDefaultTimeout } from "bun:test";

setDefaultTimeout(120_000);
