// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ExecPolicyAmendment } from "./ExecPolicyAmendment.ts";
import type { NetworkPolicyAmendment } from "./NetworkPolicyAmendment.ts";

export type CommandExecutionApprovalDecision = "accept" | "acceptForSession" | { "acceptWithExecpolicyAmendment": { execpolicy_amendment: ExecPolicyAmendment, } } | { "applyNetworkPolicyAmendment": { network_policy_amendment: NetworkPolicyAmendment, } } | "decline" | "cancel";
