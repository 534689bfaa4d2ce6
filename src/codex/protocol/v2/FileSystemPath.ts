// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { LegacyAppPathString } from "../LegacyAppPathString.ts";
import type { FileSystemSpecialPath } from "./FileSystemSpecialPath.ts";

export type FileSystemPath = { "type": "path", path: LegacyAppPathString, } | { "type": "glob_pattern", pattern: string, } | { "type": "special", value: FileSystemSpecialPath, };
