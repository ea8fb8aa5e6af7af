using System;
using System.Collections.Generic;
using static System.Math;
using Json = Newtonsoft.Json.Linq;

namespace Acme.Shop;

/// <summary>Says that an order was refused.</summary>
public class OrderRefusedException : Exception
{
    public OrderRefusedException(string message, Exception inner) : base(message, inner) { }
}

public interface IPriced
{
    int Price(int quantity);
}

public record Line(string Sku, int Count);

public enum Size { Small, Large }

public struct Money
{
    public int Amount { get; init; }
}

// Sums up what is bought.
[Serializable]
public sealed class Cart<T> : IPriced where T : Line
{
    private readonly Dictionary<string, T> _items = new();

    public event EventHandler Changed { add { Note(value); } remove { } }

    public Cart(IEnumerable<T> items, params int[] rest)
    {
        foreach (var item in items) _items.Add(item.Sku, item);
    }

    public int Total
    {
        get { return Sum(_items.Values); }
        set => Changed?.Invoke(this, value);
    }

    public T this[string sku] => _items[sku];

    int IPriced.Price(int quantity) => Abs(quantity) * this.Total;

    public async Task<int> PayAsync<K>(K key, string to = "x")
    {
        int Once(int n) { return Prices.Half(n); }
        await new Charge<K>(key).SendAsync<K>(Once(1));
        return _items.Count;
    }

    private class Nested { void Run() => base.ToString(); }
}
