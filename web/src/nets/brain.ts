/** The page's side of the worker in which a net computes. */

import type { Facts } from "./net";
import type { Question } from "./brain.worker";

export interface Thought {
  scores: Float32Array;
  value: number | null;
}

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;

export class Brain {
  private readonly worker = new Worker(new URL("./brain.worker.ts", import.meta.url), {
    type: "module",
  });
  private readonly waiting = new Map<
    number,
    { resolve: (answer: never) => void; reject: (error: Error) => void }
  >();
  private asked = 0;

  private constructor() {
    this.worker.onmessage = ({ data: { id, answer, error } }) => {
      const one = this.waiting.get(id)!;
      this.waiting.delete(id);
      if (error) one.reject(new Error(error));
      else one.resolve(answer as never);
    };
    this.worker.onerror = () => {
      for (const one of this.waiting.values())
        one.reject(new Error("The net could not be started: reload the page."));
    };
  }

  facts!: Facts;

  /** Load a file of `retro-agents export`. Throws a sentence for the page if it is none. */
  static async load(file: Uint8Array): Promise<Brain> {
    const brain = new Brain();
    try {
      brain.facts = await brain.ask<Facts>({ kind: "load", file });
    } catch (error) {
      brain.worker.terminate();
      throw error;
    }
    return brain;
  }

  private ask<Answer>(question: WithoutId<Question>): Promise<Answer> {
    const id = this.asked++;
    return new Promise<Answer>((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as never, reject });
      this.worker.postMessage({ id, ...question });
    });
  }

  /** session: whose memory it is, of a recurrent net. */
  think(image: Uint8Array, session: number, begins: boolean): Promise<Thought> {
    return this.ask({ kind: "think", image, session, begins });
  }

  saliency(image: Uint8Array): Promise<Float32Array> {
    return this.ask({ kind: "saliency", image });
  }

  forget(session: number): void {
    void this.ask({ kind: "forget", session });
  }

  end(): void {
    this.worker.terminate();
  }
}
