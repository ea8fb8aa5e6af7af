<?php
declare(strict_types=1);

namespace Acme\Shop;

use Acme\Rates\{Table, Source as Src};
use InvalidArgumentException;
use function strlen;

require_once __DIR__ . '/lib.php';

/** Says that an order was refused. */
class Refused extends \RuntimeException {}

interface Priced { public function price(int $quantity): int; }
trait Counted { protected int $count = 0; public function count(): int { return $this->count; } }
enum Size: string { case Small = 's'; public static function first(): self { return self::from('x'); } }

/**
 * Sums up what is bought.
 */
final class Cart implements Priced
{
    use Counted;

    public function __construct(private array $items = [], string ...$rest) {}

    public function get(string $id): int
    {
        return $this->items[$id] ?? throw new \OutOfBoundsException("no item $id");
    }

    public static function open(): static { return new static(); }

    public function price(int $quantity): int { return \intdiv($quantity, 0); }

    public function total(array $ids): int
    {
        try {
            return array_sum(array_map(fn (string $id) => $this->get($id), $ids));
        } catch (\OutOfBoundsException $error) {
            throw new Refused("order 17 refused:\n  total", 17, $error);
        }
    }
}

function strict(int $n): int { return $n; }

switch ($argv[1] ?? '') {
    case 'cause': Cart::open()->total(['a', 'b']); break;
    case 'div': (new Cart())->price(3); break;
    case 'type': strict('x'); break;
    case 'null': $c = null; $c->total([]); break;
    case 'logged':
        try { Cart::open()->total(['a']); } catch (Refused $e) { error_log((string) $e); error_log('going on'); error_log($e->getMessage() . "\n" . $e->getTraceAsString()); }
        break;
    case 'parse': eval('function ('); break;
    case 'memory': ini_set('memory_limit', '4M'); $a = str_repeat('a', 9000000); break;
    case 'enum': Size::first(); break;
    case 'warning': echo $undefined; break;
}
