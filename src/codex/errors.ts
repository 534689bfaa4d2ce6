/** The JSON-RPC codes that this client itself sends. */
export const RPC_CODES = {
  methodNotFound: -32601,
  internalError: -32603,
} as const;

/**
 * The app-server refused a request. It has no machine codes beyond JSON-RPC's, so what was refused is told apart by
 * `message`. `code` is the number of the wire; `data` is whatever the server added, undefined when it added nothing.
 */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;
  /** The method of the request, `turn/start` for example. */
  readonly method: string;

  constructor(refusal: { code: number; message: string; data?: unknown; method: string }) {
    super(refusal.message);
    this.code = refusal.code;
    this.data = refusal.data;
    this.method = refusal.method;
  }

  toJSON(): { name: string; code: number; message: string; data: unknown; method: string } {
    return { name: this.name, code: this.code, message: this.message, data: this.data, method: this.method };
  }
}

export function isRpcError(error: unknown): error is RpcError {
  return error instanceof RpcError;
}
