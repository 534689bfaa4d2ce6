// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { McpAppDisplayMode } from "./McpAppDisplayMode.ts";

/**
 * UI resource and display preference for model invocations, captured from the tool descriptor.
 */
export type McpAppUi = { resourceUri: string, preferredModelDisplayMode: McpAppDisplayMode, };
