/** A value that must never be printed: text, JSON and debuggers show `***`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. Call this only where it is used: to sign, to compare, to fill a header. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "***";
  }

  toJSON(): string {
    return "***";
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return "***";
  }
}
