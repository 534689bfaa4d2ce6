// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

export type DynamicToolCallOutputContentItem = { "type": "inputText", text: string, } | { "type": "inputImage", imageUrl: string, } | { "type": "inputAudio", audioUrl: string, };
