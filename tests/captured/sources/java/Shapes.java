package com.acme.shapes;

import static com.acme.math.Rounding.half;

import com.acme.prices.*;
import java.util.List;

/** Every shape of definition that the symbol reader has to name. */
public class Shapes<T extends Comparable<T>> implements Runnable {

  interface Priced {
    int price(int... parts);
  }

  enum Size {
    SMALL {
      @Override
      int factor() {
        return half(1);
      }
    };

    abstract int factor();
  }

  record Line(String sku, int count) {
    Line {
      check(count);
    }
  }

  @interface Marked {}

  private final List<T> items;

  /**
   * Starts with nothing.
   */
  public Shapes() {
    this(List.of());
  }

  Shapes(List<T> items) {
    this.items = new java.util.ArrayList<>(items);
  }

  @Override
  public void run() {
    Runnable inner =
        new Runnable() {
          @Override
          public void run() {
            Shapes.this.items.clear();
            System.out.println("done");
          }
        };
    inner.run();
  }
}
