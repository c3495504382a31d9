import BottleProtocol

/// Writes deliveries of drink records, one per line, for `waterh-replay drinks`.
package final class DrinkLines {
    private let out: LineBuffer
    private let isRaw: Bool
    private let isColoured: Bool
    private let timestampWriter = TimestampWriter()
    /// The start of a JSON line for the last bottle: `{"bottle":"A4:C1:38:01:02:03"`.
    private var prefix: [UInt8] = []
    private var label: [UInt8] = []
    private var cachedBottle: BottlePeer?

    /// - Parameter isColoured: whether terminal escapes colour suspect drinks amber and uncounted records grey.
    package init(_ out: LineBuffer, isRaw: Bool, isColoured: Bool = false) {
        self.isColoured = isColoured
        self.out = out
        self.isRaw = isRaw
    }

    /// Writes a line of `waterh-replay drinks --json`. Its keys and their order are stable.
    package func json(_ delivery: borrowing Delivery) {
        object(delivery)
        out.endLine()
    }

    func object(_ delivery: borrowing Delivery) {
        if cachedBottle !== delivery.bottle { cacheLabels(of: delivery.bottle) }
        let record = delivery.record
        out.put(bytes: prefix)
        out.put(#","at":"#)
        if record.isDatePossible { putDate(delivery, quote: true, between: UInt8(ascii: "T")) } else { out.put("null") }
        out.put(#","amountMl":"#)
        out.put(number: record.amountMl)
        out.put(#","flag":"#)
        out.put(number: record.flag)
        out.put(#","suspect":"#)
        out.put(json: record.isSuspect)
        out.put(#","tdsPpm":"#)
        out.put(json: record.tdsPpm(model: delivery.model))
        out.put(#","temperatureC":"#)
        out.put(json: record.temperatureC(delivery.model))
        out.put(#","batteryPercent":"#)
        out.put(json: record.batteryPercent(delivery.model))
        out.put(#","raw":""#)
        putRaw(record)
        out.put(#"","frame":"#)
        out.put(number: delivery.frame)
        out.put(#","capturedAt":"#)
        timestampWriter.json(delivery.time, out)
        if isRaw {
            out.put(#","duplicate":"#)
            out.put(json: delivery.isDuplicate)
        }
        out.put("}")
    }

    /// Writes a text line: `2026-02-02 22:21:15    16 ml  A4:C1:38:01:02:03  frame 12`, then sensor values and notes.
    package func text(_ delivery: borrowing Delivery) {
        if cachedBottle !== delivery.bottle { cacheLabels(of: delivery.bottle) }
        let record = delivery.record
        let isPlain = !isColoured || !(record.isSuspect || delivery.isDuplicate || !record.isDrink)
        if !isPlain { if record.isSuspect { out.put("\u{1B}[33m") } else { out.put("\u{1B}[90m") } }
        if record.isDatePossible {
            putDate(delivery, quote: false, between: UInt8(ascii: " "))
        } else {
            out.put("no possible date   ")
        }
        let amount = record.amountMl
        for limit in [10_000, 1000, 100, 10] where amount < limit { out.put(byte: UInt8(ascii: " ")) }
        out.put(" ")
        out.put(number: amount)
        out.put(" ml  ")
        out.put(bytes: label)
        out.put("  frame ")
        out.put(number: delivery.frame)
        put(record.temperatureC(delivery.model), after: "  ", " °C")
        put(record.tdsPpm(model: delivery.model), after: "  ", " ppm")
        put(record.batteryPercent(delivery.model), after: "  battery ", " %")
        if !record.isDrink { put(record.flag, after: "  bookkeeping, no drink (flag ", ")") }
        if let suspectReason = record.suspectReason { out.put(text: "  suspect: \(suspectReason)") }
        if delivery.isDuplicate { out.put("  duplicate") }
        if !isPlain { out.put("\u{1B}[0m") }
        out.endLine()
    }

    private func put(_ number: Int?, after lead: StaticString, _ unit: StaticString) {
        guard let number else { return }
        out.put(lead)
        out.put(number: number)
        out.put(unit)
    }

    private func cacheLabels(of bottle: BottlePeer) {
        cachedBottle = bottle
        label = Array(bottle.label.utf8)
        prefix = Array((#"{"bottle":"# + (bottle.address.map { "\"\($0)\"" } ?? "null")).utf8)
        if bottle.address == nil { cachedBottle = nil }  // The address can follow later.
    }

    @inline(__always)
    private func putDate(_ delivery: borrowing Delivery, quote: Bool, between: UInt8) {
        let head = delivery.record.head
        if quote { out.put(byte: UInt8(ascii: "\"")) }
        out.put(two: UInt8(truncatingIfNeeded: delivery.year / 100))
        out.put(two: UInt8(truncatingIfNeeded: delivery.year % 100))
        out.put(byte: UInt8(ascii: "-"))
        out.put(two: UInt8(truncatingIfNeeded: head >> 48))
        out.put(byte: UInt8(ascii: "-"))
        out.put(two: UInt8(truncatingIfNeeded: head >> 40))
        out.put(byte: between)
        out.put(two: UInt8(truncatingIfNeeded: head >> 32))
        out.put(byte: UInt8(ascii: ":"))
        out.put(two: UInt8(truncatingIfNeeded: head >> 24))
        out.put(byte: UInt8(ascii: ":"))
        out.put(two: UInt8(truncatingIfNeeded: head >> 16))
        if quote { out.put(byte: UInt8(ascii: "\"")) }
    }

    @inline(__always)
    private func putRaw(_ record: DrinkRecord) {
        for shift in stride(from: 56, through: 0, by: -8) {
            out.put(hex: UInt8(truncatingIfNeeded: record.head >> UInt64(shift)))
        }
        for shift in stride(from: 32, through: 0, by: -8) {
            out.put(hex: UInt8(truncatingIfNeeded: record.tail >> UInt64(shift)))
        }
    }
}
