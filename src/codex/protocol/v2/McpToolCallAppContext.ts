// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

export type McpToolCallAppContext = { connectorId: string, linkId: string | null, resourceUri: string | null, appName: string | null, actionName: string | null, };
