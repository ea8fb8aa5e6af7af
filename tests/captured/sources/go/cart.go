// Package cart sums up what is bought.
package cart

import (
	"errors"
	"fmt"
	str "strings"
	"sync"

	_ "embed"
)

// ErrEmpty says that nothing was bought.
var ErrEmpty = errors.New("cart is empty")

type (
	// Item is one line of a cart.
	Item struct {
		SKU   string
		Price int
	}
	Pricer interface {
		Price(sku string, quantities ...int) (int, error)
	}
)

type Repo[K comparable] struct {
	mu    sync.Mutex
	items map[K]*Item
}

type Refused struct{ Reason string }

func (r Refused) Error() string { return "refused: " + r.Reason }

// Get finds an item.
// It fails on an unknown key.
func (r *Repo[K]) Get(key K) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.items[key].Price
}

func (Refused) Code() int { return 409 }

func Total(repo *Repo[string], keys []string) (sum int) {
	add := func(key string) {
		sum += repo.Get(key)
	}
	for _, key := range keys {
		add(str.TrimSpace(key))
	}
	return sum
}

func Third(values []int) int {
	at := 3
	return values[at]
}

func First[T any](values []T) T {
	return values[0]
}

func Guard(work func()) {
	defer func() {
		if err := recover(); err != nil {
			panic(fmt.Sprintf("guarded: %v", err))
		}
	}()
	work()
}

func init() {
	fmt.Sprint(new(Item))
}
