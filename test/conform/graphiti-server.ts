/** A stand-in for the Graphiti server that `@robertogongora/graphiti` talks to: every episode is one fact. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export interface GraphitiServer {
  readonly url: string;
  /** Contents of the episodes, in the order in which they came. */
  readonly episodes: string[];
  close(): Promise<void>;
}

interface Query {
  query?: string;
  messages?: { content: string }[];
  max_facts?: number;
}

export async function startGraphitiServer(): Promise<GraphitiServer> {
  const episodes: string[] = [];
  const server = createServer((request, response) => {
    void answer(request, response, episodes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    episodes,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, episodes: string[]): Promise<void> {
  const say = (status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const { url = '' } = request;
  if (url === '/healthcheck') return say(200, { status: 'healthy' });
  if (url.startsWith('/episodes/')) return say(200, episodes);
  const body = await bodyOf(request);
  switch (url) {
    case '/messages':
      for (const { content } of (body as Query).messages ?? []) episodes.push(content);
      return say(202, { success: true, message: 'queued' });
    case '/get-memory':
    case '/search':
      return say(200, { facts: factsFor(body as Query, episodes) });
    default:
      return say(404, { detail: 'Not Found' });
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

/** The episodes that share the most words with the question; equal questions on equal episodes get equal facts. */
function factsFor({ query = '', messages = [], max_facts: most = 10 }: Query, episodes: readonly string[]) {
  const asked = new Set([query, ...messages.map(({ content }) => content)].flatMap(wordsOf));
  return episodes
    .map((content, index) => ({ content, index, shared: wordsOf(content).filter((word) => asked.has(word)).length }))
    .filter(({ shared }) => shared > 0)
    .sort((one, other) => other.shared - one.shared || one.index - other.index)
    .slice(0, most)
    .map(({ content, index }) => ({
      uuid: `fact-${index}`,
      name: 'SAID',
      fact: content.slice(0, 200),
      valid_at: null,
    }));
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/\s+/);
}
