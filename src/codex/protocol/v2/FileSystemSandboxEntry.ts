// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { FileSystemAccessMode } from "./FileSystemAccessMode.ts";
import type { FileSystemPath } from "./FileSystemPath.ts";

export type FileSystemSandboxEntry = { path: FileSystemPath, access: FileSystemAccessMode, };
