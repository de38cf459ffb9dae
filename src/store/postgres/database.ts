export type Row = Record<string, unknown>;

/** One connection of the pool. A query that fails leaves it usable, unless `isLost(error)`. */
export type Connection = {
  /** Without values, the text may have several statements; the answer is that of the last one. */
  query<R = Row>(text: string, values?: readonly unknown[]): Promise<readonly R[]>;
  /** `broken`: it is closed, and not used again. */
  release(broken?: boolean): void;
};

export type Pool = {
  /** Rejects with an error that `isLost` if the server cannot be reached, or no connection becomes free in time. */
  connect(): Promise<Connection>;
  /** Resolves when all connections are released and closed. May be called twice. */
  end(): Promise<void>;
};
