// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { PatchChangeKind } from "./PatchChangeKind.ts";

export type FileUpdateChange = { path: string, kind: PatchChangeKind, diff: string, };
