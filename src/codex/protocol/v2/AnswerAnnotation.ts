// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { HelplineSubject } from "./HelplineSubject.ts";

export type AnswerAnnotation = { "kind": "wellbeingHelpline", subject: HelplineSubject, };
