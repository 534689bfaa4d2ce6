// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { PlanType } from "../PlanType.ts";

export type Account = { "type": "apiKey", } | { "type": "chatgpt", email: string | null, planType: PlanType,
/**
 * Display name of the selected ChatGPT workspace, when available.
 */
workspaceName: string | null, } | { "type": "amazonBedrock", usesCodexManagedCredentials: boolean, } | { "type": "gcp", };
