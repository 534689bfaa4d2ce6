/**
 * Accepted turns on their way to a durable engine (spec D3): one file each, numbered in the order of acceptance.
 */
import { join } from 'node:path';
import type { Logger, OutboxRecord, OutboxStore } from '../ports.ts';
import { errorCode, type SessionFs } from './fs.ts';
import { type JsonFile, jsonFile, sideFileFailed } from './json-file.ts';
import { createSerial } from './serial.ts';
import { parseOutboxRecord } from './side-values.ts';

export interface OutboxOptions {
  /** A folder; made with the first record. */
  folder: string;
  fs: SessionFs;
  logger?: Logger | undefined;
}

/** The queue, and what the session's owner does with records that make no sense. */
export interface Outbox extends OutboxStore {
  /** As `JsonFile.setAside`, for every record. Resolves with the new paths. */
  setAside(): Promise<string[]>;
}

interface StoredRecord {
  file: JsonFile<OutboxRecord>;
  record: OutboxRecord;
}

const RECORD_NAME = /^\d{12}\.json$/;

/** The outbox in `folder`. Its calls are carried out one after the other. */
export function openOutbox(options: OutboxOptions): Outbox {
  const serial = createSerial();
  return {
    list: () => serial(async () => (await readRecords(options)).map(({ record }) => record)),
    async add(record) {
      // The queue may be busy: what the caller does to the record meanwhile is no part of it.
      const frozen = structuredClone(record);
      await serial(async () => {
        const stored = await readRecords(options);
        if (stored.some((one) => one.record.advancementKey === frozen.advancementKey)) return;
        const number = Number.parseInt((await recordNames(options)).at(-1) ?? '0', 10) + 1;
        await recordFile(options, `${String(number).padStart(12, '0')}.json`).write(frozen);
      });
    },
    remove: (advancementKey) =>
      serial(async () => {
        for (const { file, record } of await readRecords(options)) {
          if (record.advancementKey === advancementKey) await file.clear();
        }
      }),
    setAside: () =>
      serial(async () => {
        const aside: string[] = [];
        for (const name of await recordNames(options)) {
          const bad = await recordFile(options, name).setAside();
          if (bad !== null) aside.push(bad);
        }
        return aside;
      }),
  };
}

async function readRecords(options: OutboxOptions): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  for (const name of await recordNames(options)) {
    const file = recordFile(options, name);
    const record = await file.read();
    if (record !== null) records.push({ file, record });
  }
  return records;
}

/** In the order of acceptance. */
async function recordNames({ folder, fs }: OutboxOptions): Promise<string[]> {
  try {
    return (await fs.readdir(folder)).filter((name) => RECORD_NAME.test(name)).sort();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw sideFileFailed('session_unreadable', folder, error);
  }
}

function recordFile({ folder, fs, logger }: OutboxOptions, name: string): JsonFile<OutboxRecord> {
  return jsonFile({ path: join(folder, name), fs, parse: parseOutboxRecord, logger });
}
