// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ModeKind } from "./ModeKind.ts";
import type { Settings } from "./Settings.ts";

/**
 * Collaboration mode for a Codex session.
 */
export type CollaborationMode = { mode: ModeKind, settings: Settings, };
