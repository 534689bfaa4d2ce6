import { idOf, objectOf, type WireObject } from '../codex/wire-values.ts';
import type { ServerRequest } from '../ports.ts';

export interface ServerRequestOptions {
  threadId: string;
  /** The turn that runs; null while its id is not known yet. */
  turnId: () => string | null;
  /** Answers `item/tool/call`; a rejection refuses the call. */
  onToolCall: (params: unknown) => Promise<unknown>;
  /** An approval of this thread was denied. `kind`: see `ApprovalKind`. */
  onDenied?: (kind: ApprovalKind) => void;
}

export type ApprovalKind = 'command' | 'fileChange' | 'permissions' | 'mcpToolCall';

interface Approval {
  kind: ApprovalKind;
  /** Never shared between answers. */
  denial: () => Readonly<Record<string, unknown>>;
}

const DECLINED = () => ({ decision: 'decline' });
const DENIED = () => ({ decision: { denied: { rejection: 'nobody is there to approve this' } } });

/** Requests that ask a person. `decline` lets the turn go on; `cancel` would interrupt it. */
const APPROVALS: Readonly<Record<string, Approval>> = {
  'item/commandExecution/requestApproval': { kind: 'command', denial: DECLINED },
  'item/fileChange/requestApproval': { kind: 'fileChange', denial: DECLINED },
  'item/permissions/requestApproval': { kind: 'permissions', denial: () => ({ permissions: {}, scope: 'turn' }) },
  execCommandApproval: { kind: 'command', denial: DENIED },
  applyPatchApproval: { kind: 'fileChange', denial: DENIED },
};

/**
 * Answers what the app-server asks during a turn. Everything fails closed, since nobody is there: approvals are denied,
 * questions get no answers, elicitations are declined. Undefined for a request of another thread (it may belong to
 * another attempt on the same connection) and of an unknown kind: when nobody else answers, the client refuses it.
 * One without a thread id is denied.
 */
export function createServerRequestHandler(
  options: ServerRequestOptions,
): (request: ServerRequest) => Promise<unknown> | undefined {
  return ({ method, params: sent }) => {
    const params = objectOf(sent);
    const threadId = idOf(params['threadId']) ?? idOf(params['conversationId']);
    if (threadId !== null && threadId !== options.threadId) return undefined;

    const approval = Object.hasOwn(APPROVALS, method) ? APPROVALS[method] : undefined;
    if (approval !== undefined) {
      if (isOfTurn(params, options)) options.onDenied?.(approval.kind);
      return Promise.resolve(approval.denial());
    }
    switch (method) {
      case 'item/tool/call':
        return options.onToolCall(params);
      case 'item/tool/requestUserInput':
        return Promise.resolve({ answers: {} });
      case 'mcpServer/elicitation/request':
        if (isToolApproval(params) && isOfTurn(params, options)) options.onDenied?.('mcpToolCall');
        return Promise.resolve({ action: 'decline', content: null, _meta: null });
      default:
        return undefined;
    }
  };
}

/** Whether a denial is one of this turn. Older requests name no turn; an elicitation may have none. */
function isOfTurn(params: WireObject, options: ServerRequestOptions): boolean {
  if (idOf(params['threadId']) === null && idOf(params['conversationId']) === null) return false;
  const turnId = idOf(params['turnId']);
  const running = options.turnId();
  return turnId === null || running === null || turnId === running;
}

/** Codex asks for the approval of an MCP call by way of an elicitation. */
function isToolApproval(params: WireObject): boolean {
  return objectOf(params['_meta'])['codex_approval_kind'] === 'mcp_tool_call';
}
