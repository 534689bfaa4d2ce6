// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { FunctionCallOutputContentItem } from "./FunctionCallOutputContentItem.ts";

export type FunctionCallOutputBody = string | Array<FunctionCallOutputContentItem>;
