package com.acme.shop;

import java.util.List;
import java.util.concurrent.*;

public class Checkout {
  static class Rejected extends RuntimeException {
    Rejected(String message, Throwable cause) { super(message, cause); }
  }

  static class Lock implements AutoCloseable {
    @Override public void close() { throw new IllegalStateException("unlock failed", new java.io.IOException("gone")); }
  }

  private final int rate;

  Checkout(String raw) {
    this.rate = Integer.parseInt(raw);
  }

  static int price(String raw) {
    return List.of(raw).stream().mapToInt(r -> new Checkout(r).rate).sum();
  }

  static void pay(String raw) {
    try (Lock lock = new Lock()) {
      price(raw);
    } catch (NumberFormatException error) {
      throw new Rejected("order 17 refused:\n  total of " + raw, error);
    }
  }

  static int depth(int n) { return depth(n + 1); }

  static class Table { static final int SIZE = Integer.parseInt("big"); }

  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "pay": pay("12,5"); break;
      case "pool":
        ExecutorService pool = Executors.newSingleThreadExecutor();
        try { pool.submit(new Callable<Integer>() { public Integer call() { return price("x"); } }).get(); }
        finally { pool.shutdown(); }
        break;
      case "static": System.out.println(Table.SIZE); break;
      case "overflow": depth(0); break;
      case "circular":
        RuntimeException a = new RuntimeException("a"), b = new RuntimeException("b", a);
        a.initCause(b);
        throw a;
      case "null": Object o = null; o.toString(); break;
      case "log":
        java.util.logging.Logger.getLogger("shop").log(java.util.logging.Level.SEVERE, "payment failed", new Rejected("no", new NullPointerException()));
        java.util.logging.Logger.getLogger("shop").info("going on");
        break;
    }
  }
}
