# frozen_string_literal: true

require 'json'
require_relative 'lib/rates'

module Shop
  # Says that an order was refused.
  class Refused < StandardError; end

  # Sums up what is bought.
  class Cart
    attr_reader :items

    def initialize(items = {}, *rest, key: nil, **options, &block)
      @items = items
    end

    def get(id)
      @items.fetch(id)
    end

    def self.open
      new({})
    end

    class << self
      def build(size) = new({ size: size })
    end

    # Adds up.
    def total(ids)
      ids.map { |id| get(id) }.sum
    rescue KeyError
      raise Refused, "order 17 refused:\n  total of #{ids.join(',')}"
    end

    def size?
      nil.length
    end

    define_method(:count) { @items.count }
  end
end

if __FILE__ == $PROGRAM_NAME
  case ARGV[0]
  when 'cause' then Shop::Cart.open.total(%w[a b])
  when 'nil' then Shop::Cart.build(1).size?
  when 'empty' then raise Shop::Refused, ''
  when 'logged'
    require 'logger'
    begin
      Shop::Cart.open.total(['a'])
    rescue StandardError => e
      Logger.new($stderr).error(e)
      warn e.full_message(highlight: false, order: :top)
      warn 'going on'
    end
  when 'thread' then Thread.new { Integer('12,5') }.join
  when 'overflow'
    def deep(n) = deep(n + 1)
    deep(0)
  when 'eval' then eval('Integer("x")')
  when 'bottom'
    begin
      Shop::Cart.open.total(['a'])
    rescue StandardError => e
      warn e.full_message(highlight: false, order: :bottom)
    end
  when 'json' then JSON.parse('{"a": ')
  end
end
