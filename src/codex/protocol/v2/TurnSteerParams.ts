// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { AdditionalContextEntry } from "./AdditionalContextEntry.ts";
import type { UserInput } from "./UserInput.ts";

export type TurnSteerParams = { threadId: string, clientUserMessageId?: string | null, input: Array<UserInput>,
/**
 * Optional metadata to enrich Codex's ResponsesAPI turn metadata.
 * Replaces unprotected client-provided entries when supplied; an empty map clears them.
 *
 * Entries are flattened into the JSON string sent as
 * `client_metadata["x-codex-turn-metadata"]` on ResponsesAPI HTTP and websocket requests.
 *
 * They are not sent as top-level ResponsesAPI `client_metadata` keys, and reserved keys
 * such as `session_id`, `thread_id`, `turn_id`, and `window_id` cannot be overridden.
 */
responsesapiClientMetadata?: { [key in string]?: string } | null,
/**
 * Merge entries into the ResponsesAPI turn metadata without removing existing entries.
 * Applied after `responsesapiClientMetadata` if both are provided; reserved keys remain protected.
 */
responsesapiClientMetadataPatch?: { [key in string]?: string } | null,
/**
 * Optional client-provided context fragments keyed by an opaque source identifier.
 */
additionalContext?: { [key in string]?: AdditionalContextEntry } | null,
/**
 * Required active turn id precondition. The request fails when it does not
 * match the currently active turn.
 */
expectedTurnId: string, };
