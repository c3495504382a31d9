import Bluetooth
import BottleProtocol
import Emulator

extension RecordedBottleMachine {
    private static let recordsPerEntry = 8
    private static let confirmationTimeout = Duration.seconds(30)

    mutating func answerLog(_ bytes: [UInt8], _ command: HostCommand, at now: MonotonicInstant) {
        let matching = script.exchanges.indices.filter { index in
            guard !usedExchanges.contains(index) else { return false }
            let exchange = script.exchanges[index]
            // Strict mode repeats the recording, including empty responses. Other modes send every dump with records,
            // so that one client gets all of them.
            return mode == .strict
                ? exchange.request == bytes : exchange.command.requestsLog && !exchange.records.isEmpty
        }
        guard let next = matching.first else {
            log("\(command.meaning): \(counted(unacknowledgedRecords.count, "unacknowledged record")) of the capture")
            lastDump = unacknowledgedRecords
            return send(dump(unacknowledgedRecords), at: now)
        }
        lastDump = script.exchanges[next].records
        log(
            """
            \(command.meaning): as recorded in frame \(script.exchanges[next].frame), \
            \(counted(lastDump.count, "record"))
            """)
        queueResponse(next, at: now)
    }

    /// Drops the acknowledged records, which are the first ones of the last dump.
    mutating func acknowledge(_ count: Int) {
        let acknowledged = Set(lastDump.prefix(count))
        lastDump.removeFirst(min(count, lastDump.count))
        unacknowledgedRecords.removeAll { acknowledged.contains($0) }
    }

    /// Queues the recorded response of an exchange, given by its index.
    mutating func queueResponse(_ exchange: Int, at now: MonotonicInstant) {
        usedExchanges.insert(exchange)
        // Send the rest of the previous response first, because this host sends requests faster than the recorded one.
        for index in queuedValues.indices { queuedValues[index].due = now }
        var due = now
        for value in script.exchanges[exchange].values {
            due = max(due, now.advanced(by: delay(value.delay)))
            send(value.bytes, due: due)
        }
        if script.exchanges[exchange].command.requestsLog { isReadDump = !isSubscribed }
    }

    private mutating func send(_ values: [[UInt8]], at now: MonotonicInstant) {
        for index in queuedValues.indices { queuedValues[index].due = now }
        for value in values { send(value, due: now) }
        isReadDump = !isSubscribed
    }

    private mutating func send(_ bytes: [UInt8], due: MonotonicInstant) {
        if isSubscribed { queuedValues.append((due, bytes)) } else { readQueue.append(bytes) }
    }

    private func delay(_ recorded: Duration) -> Duration { speed.map { recorded / $0 } ?? .zero }

    /// Encodes log records as values of the response characteristic, in the format of the bottle's profile.
    private func dump(_ records: [[UInt8]]) -> [[UInt8]] {
        let entries = stride(from: 0, to: records.count, by: Self.recordsPerEntry).map { start in
            Entry(.log, Array(records[start..<min(start + Self.recordsPerEntry, records.count)].joined())).encoded
        }
        if script.profile == .draft {
            return entries.map { Frame(.put, payload: $0).encoded } + [Frame(.put, payload: []).encoded]
        }
        guard let first = entries.first else { return [BottleMessage.logEmpty.frame.encoded] }
        // The length field of a frame has 16 bits, so longer logs need several frames.
        let length = entries.reduce(0) { $0 + $1.count }
        guard length <= Frame.maximumPayload else {
            return [BottleMessage.logFollows.frame.encoded] + entries.map { Frame(.put, payload: $0).encoded }
        }
        return [BottleMessage.logFollows.frame.encoded, Frame.header(.put, length: length) + first]
            + entries.dropFirst()
    }

    /// Sends the next due value, unless an earlier notification is unconfirmed for less than 30 s.
    mutating func sendNextValue(at now: MonotonicInstant) {
        if let until = inFlightUntil, until <= now { inFlightUntil = nil }
        guard inFlightUntil == nil, central != nil, isSubscribed, let next = queuedValues.first, next.due <= now else {
            return
        }
        queuedValues.removeFirst()
        inFlightUntil = now.advanced(by: Self.confirmationTimeout)
        effects.append(.link(.notify(BluetoothUUID(script.profile.responseCharacteristic), value: next.bytes)))
    }
}
