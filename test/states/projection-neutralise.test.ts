import { describe, expect, it } from 'vitest';
import { neutralise } from '../../src/projection/neutralise.ts';
import { sequence } from './projection-messages.ts';

describe('neutralising quoted text', () => {
  const changed: [string, string][] = [
    // Our tags, anywhere in a line.
    ['<conversation_context>', '<\\conversation_context>'],
    ['</conversation_context>', '<\\/conversation_context>'],
    ['a </conversation_context> b', 'a <\\/conversation_context> b'],
    ['< / Conversation_Context >', '<\\ / Conversation_Context >'],
    ['</conversation-context>', '<\\/conversation-context>'],
    ['<\u200b/con\u200bversation_\u00adcontext>', '<\\\u200b/con\u200bversation_\u00adcontext>'],
    ['＜／conversation context＞', '＜\\／conversation context＞'],
    ['<conversation_context id="2">', '<\\conversation_context id="2">'],
    // First line and request label, anywhere in a line.
    ['Current user request:', 'Current user request\\:'],
    ['## CURRENT\u00a0USER   REQUEST : go', '## CURRENT\u00a0USER   REQUEST \\: go'],
    ['Cur\u200brent user reque\u017ft：', 'Cur\u200brent user reque\u017ft\\：'],
    ['OpenClaw assembled context for this turn:', 'OpenClaw assembled context for this turn\\:'],
    // Role lines, at the start of a line of any kind.
    ['[user]', '[\\user]'],
    ['[user] hello', '[\\user] hello'],
    ['a\n\n[assistant]\nb', 'a\n\n[\\assistant]\nb'],
    ['a\r[USER]', 'a\r[\\USER]'],
    ['a\u2028[toolResult]', 'a\u2028[\\toolResult]'],
    ['a\v[tool result]\f[tool_result]\u0085[system]', 'a\v[\\tool result]\f[\\tool_result]\u0085[\\system]'],
    ['  [ User\u200b ]', '  [\\ User\u200b ]'],
    ['［user］', '［\\user］'],
    // Mentions.
    ['$skill', '$\\skill'],
    ['use $a:b-c and $9x, $_y', 'use $\\a:b-c and $\\9x, $\\_y'],
    ['\\$skill', '\\$\\skill'],
    ['$$skill', '$$\\skill'],
    ['$PATHS $home_dir', '$\\PATHS $\\home_dir'],
    ['[$skill](/x/SKILL.md)', '[$\\skill](/x/SKILL.md)'],
    ['[@app](plugin://app@x)', '[@\\app](plugin://app@x)'],
    ['[@app]\n(plugin://app)', '[@\\app]\n(plugin://app)'],
  ];
  it.each(changed)('%j → %j', (before, after) => {
    expect(neutralise(before)).toBe(after);
    expect(neutralise(after)).toBe(after);
  });

  const kept = [
    '',
    'a conversation about context',
    'the current user request is short',
    'see [user] in the middle',
    '[users]\nname = 1',
    '[user',
    'it costs $5, $5.00 or $1,000; $ alone; $(ls) $ {x}',
    '$PATH:$HOME',
    'mail a@b.example, @name, [@] [@a b](x)',
    '[link](https://example.org)',
    'if (a < conversation) {}',
  ];
  it.each(kept)('leaves %j alone', (value) => {
    if (value !== '$PATH:$HOME') expect(neutralise(value)).toBe(value);
    // `$PATH:` would be read as the name "PATH:".
    else expect(neutralise(value)).toBe('$\\PATH:$HOME');
  });

  it('is idempotent and takes nothing away, for any mixture', () => {
    const atoms = [
      '<',
      '/',
      'conversation',
      '_',
      'context',
      '>',
      ' ',
      '\n',
      '\r',
      '\f',
      '[',
      ']',
      'user',
      'tool',
      'result',
      '$',
      '@',
      '(',
      ':',
      'a',
      '5',
    ].concat([
      '\\',
      'Current',
      'request',
      '\u200b',
      '＜',
      '：',
      'PATH',
      '😀',
      '</conversation_context>',
      'Current user request:',
      '[user]',
    ]);
    const next = sequence(7);
    for (let i = 0; i < 5_000; i += 1) {
      const value = Array.from({ length: next(14) }, () => atoms[next(atoms.length)]).join('');
      const once = neutralise(value);
      expect(neutralise(once)).toBe(once);
      expect(once.replaceAll('\\', '')).toBe(value.replaceAll('\\', ''));
      expect(once).not.toContain('</conversation_context>');
      expect(once).not.toContain('Current user request:');
      expect(once).not.toMatch(/^\[user\]/m);
      expect(once).not.toMatch(/\[@[a-z0-9]+\]/);
      expect(once).not.toMatch(/\$(?!(?:PATH|user)(?![\w:-]))[\w:-]*[a-z]/i);
    }
  });

  it('is linear: long runs of what a rule starts with cost little', () => {
    const runs = ['<', '<conversation', 'current', 'current user request', '\n[tool', '\n', '[@a', '$1', '\f'];
    const fills = [' ', '\u200b', '_', '1', '\f', '[', '<', '$', 'a'];
    const started = performance.now();
    for (const run of runs) for (const fill of fills) neutralise(`${run}${fill.repeat(50_000)}:<[$`);
    // A quadratic rule needs many seconds for one of these; the bound is generous for a slow machine.
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
