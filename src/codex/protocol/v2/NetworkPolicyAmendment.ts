// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { NetworkPolicyRuleAction } from "./NetworkPolicyRuleAction.ts";

export type NetworkPolicyAmendment = { host: string, action: NetworkPolicyRuleAction, };
