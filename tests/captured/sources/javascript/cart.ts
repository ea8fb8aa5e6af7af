import type { Rate } from "../rates/table";
import express, { Router } from "express";
export { half } from "./rounding";

/** One line of a cart. */
export interface Line {
  sku: string;
  price(quantity: number): number;
}

export enum Size {
  Small = "s",
}

export namespace Prices {
  export function parse(text: string): number {
    return Number(text);
  }
}

// Sums up what is bought.
@sealed
export abstract class Cart<T extends Line> implements Summed {
  private static instance?: Cart<Line>;
  onChange = (line: T): void => {
    this.notify(line);
  };

  constructor(private readonly lines: T[] = [], ...rest: number[]) {
    super();
  }

  get size(): number {
    return this.lines.length;
  }

  abstract notify(line: T): void;

  async total({ rate }: { rate: Rate }, scale = 1, round?: boolean): Promise<number> {
    const add = (sum: number, line: T) => sum + line.price(1);
    return this.lines.reduce(add, 0) * (await rate.get()).value;
  }
}

export const pay = async (cart: Cart<Line>): Promise<void> => {
  const { charge } = await import("./charge");
  await charge(new Prices.Money(await cart.total({ rate })));
};

const handlers = {
  list: function (request: Request) {
    return express.json(request);
  },
  find(id: string) {
    return handlers.list(id);
  },
};

Cart.prototype.first = function first() {
  return this.lines[0];
};
module.exports.later = (x) => setTimeout(x);
export default function () {
  return Router();
}
