import { constants, type Stats } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../errors.ts';
import { usageError } from './flags.ts';

/** Flags and the absolute paths that they were given; null: the flag was not there. */
export type NamedFiles = Readonly<Record<string, string | null>>;

/**
 * What is written must be a file that can be, in a folder that is there, and no other of the files of this command,
 * whatever path it is named by. Devices may be named twice. Nothing is opened. Rejects with AttemptError `usage`.
 */
export async function checkOutputs(command: string, read: NamedFiles, written: NamedFiles): Promise<void> {
  const taken = new Map<string, string>();
  for (const [flag, file] of Object.entries(read)) {
    const facts = file === null ? null : await stat(file).catch(() => null);
    // What is wrong with a file that is read is told when it is read.
    if (file !== null) taken.set(await identityOf(file, facts), flag);
  }
  for (const [flag, file] of Object.entries(written)) {
    if (file === null) continue;
    const folder = await existingFolder(path.dirname(file), flag, command);
    const facts = await factsOf(file, flag, command);
    if (facts?.isDirectory() === true) throw usageError(`${flag} needs a file, and ${file} is a folder`, command);
    await access(facts === null ? folder : file, constants.W_OK).catch((error: unknown) => {
      throw usageError(`${flag}: ${file} cannot be written: ${messageOf(error)}`, command);
    });
    if (facts !== null && !facts.isFile()) continue;
    const identity = await identityOf(file, facts);
    const other = taken.get(identity);
    if (other !== undefined) throw usageError(`${flag} and ${other} name the same file: ${file}`, command);
    taken.set(identity, flag);
  }
}

/** The same for every path of one file. */
async function identityOf(file: string, facts: Stats | null): Promise<string> {
  if (facts !== null) return `${facts.dev}:${facts.ino}`;
  const folder = path.dirname(file);
  return path.join(await realpath(folder).catch(() => folder), path.basename(file));
}

/** Null: nothing is there. Throws AttemptError `usage` when the path cannot be looked at. */
async function factsOf(file: string, flag: string, command: string): Promise<Stats | null> {
  try {
    return await stat(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw usageError(`${flag}: ${file} cannot be used: ${messageOf(error)}`, command);
  }
}

/** The folder of a flag. Rejects with AttemptError `usage` when it is not there or not a folder. */
export async function existingFolder(folder: string, flag: string, command: string): Promise<string> {
  const facts = await factsOf(folder, flag, command);
  if (facts === null) throw usageError(`${flag}: there is no folder ${folder}`, command);
  if (!facts.isDirectory()) throw usageError(`${flag}: ${folder} is not a folder`, command);
  return folder;
}
