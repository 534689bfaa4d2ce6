// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { AnswerAnnotation } from "./AnswerAnnotation.ts";
import type { AnswerReplacement } from "./AnswerReplacement.ts";
import type { BlockReason } from "./BlockReason.ts";
import type { TrustedContacts } from "./TrustedContacts.ts";

/**
 * How Chat should present a recovered answer.
 */
export type AgentMessageDisplay = { "mode": "show", version: 1, annotation?: AnswerAnnotation, trustedContacts: TrustedContacts, } | { "mode": "hide", version: 1, replacement: AnswerReplacement, } | { "mode": "block", version: 1, reason: BlockReason, };
