import Bluetooth

/// A capture's course as a picture needs it, in bounded memory: how much passed when, and single PDUs as far as there
/// is room.
///
/// Time is cut into pieces of one width, of which only those with something in them are kept. When they become too
/// many, the width doubles.
package final class Timeline {
    /// What passed in one piece of time.
    package struct Piece: Sendable, Equatable {
        /// By the host (on the air: the central).
        package var sent = 0
        /// To the host, and where the direction is not known.
        package var received = 0
        /// Error responses.
        package var errors = 0
        /// Bytes of its PDUs.
        package var bytes = 0
    }

    /// One PDU.
    package struct Entry: Sendable {
        /// Number of the record in which its last byte came.
        package var frame: Int
        /// Since 1970, where the capture has times.
        package var time: Duration?
        /// Number of its connection.
        package var connection: Int
        /// Which way it went, seen from the host.
        package var direction: TrafficDirection?
        /// What kind of PDU it is.
        package var opcode: ATTOpcode
        /// That it names, or the request that it answers.
        package var handle: UInt16?
        /// Its bytes.
        package var length: Int
        /// From the request to this answer.
        package var latency: Duration?
        /// The first bytes.
        package var start: [UInt8]
    }

    /// With more pieces than this, the width doubles.
    package static let mostPieces = 2048
    /// The first so many PDUs are kept.
    package static let mostEntries = 5000
    /// And so many of the later ones that answer with an error, or late.
    package static let mostNotable = 1000
    /// Bytes kept of a PDU.
    package static let longestStart = 24
    /// An answer is late from here on.
    package static let late = Duration.milliseconds(500)

    /// How long a piece is, in nanoseconds.
    package private(set) var width: Int64 = 100_000
    /// PDUs kept, in the order of the capture.
    package private(set) var entries: [Entry] = []
    /// All PDUs, kept or not.
    package private(set) var count = 0
    /// PDUs without a time; they are in no piece.
    package private(set) var timeless = 0
    private var notable = 0
    private var places: [Int64: Piece] = [:]
    private var last: (number: Int64, piece: Piece) = (.min, Piece())

    /// With nothing in it.
    package init() {}

    /// In order: when a piece begins, and what passed in it.
    package var pieces: [(begin: Duration, piece: Piece)] {
        var all = places
        if last.number != .min { all[last.number] = last.piece }
        return all.sorted { $0.key < $1.key }.map { (.nanoseconds($0.key) * Int(width), $0.value) }
    }

    /// Takes the next PDU.
    /// - Parameters:
    ///   - handle: that it is about, where that is known.
    ///   - latency: since its request.
    func take(_ observation: ATTObservation, _ pdu: RawSpan, handle: UInt16?, latency: Duration?) {
        guard let opcode = pdu.first else { return }
        count += 1
        if let time = observation.time {
            note(time, opcode, observation.direction, pdu.byteCount)
        } else {
            timeless += 1
        }
        let isNotable = opcode == 0x01 || latency.map { $0 >= Self.late } == true
        guard entries.count < Self.mostEntries || (isNotable && notable < Self.mostNotable) else { return }
        if entries.count >= Self.mostEntries { notable += 1 }
        entries.append(
            Entry(
                frame: observation.frame, time: observation.time, connection: observation.connection.id,
                direction: observation.direction,
                opcode: ATTOpcode(rawValue: opcode), handle: handle, length: pdu.byteCount, latency: latency,
                start: pdu.extracting(0..<min(pdu.byteCount, Self.longestStart)).bytes()))
    }

    private func note(_ time: Duration, _ opcode: UInt8, _ direction: TrafficDirection?, _ bytes: Int) {
        let number = number(of: time)
        if number != last.number { turn(to: number) }
        if direction == .sent { last.piece.sent += 1 } else { last.piece.received += 1 }
        if opcode == 0x01 { last.piece.errors += 1 }
        last.piece.bytes += bytes
    }

    /// Captures of any date fit: 2^63 nanoseconds are 292 years, and what lies outside is put at the edge.
    private func number(of time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        let limit: Int64 = 9_000_000_000
        let nanoseconds = min(limit, max(-limit, seconds)) * 1_000_000_000 + attoseconds / 1_000_000_000
        return nanoseconds >= 0 ? nanoseconds / width : (nanoseconds + 1) / width - 1
    }

    private func turn(to number: Int64) {
        if last.number != .min { places[last.number] = last.piece }
        last = (number, places[number] ?? Piece())
        guard places[number] == nil, places.count >= Self.mostPieces else { return }
        places[number] = last.piece
        while places.count >= Self.mostPieces { widen() }
        // Where the new one is now.
        let now = Self.halved(number, by: steps)
        steps = 0
        last = (now, places[now] ?? Piece())
    }

    private var steps = 0

    private func widen() {
        width *= 2
        steps += 1
        var wider: [Int64: Piece] = [:]
        for (number, piece) in places {
            let place = Self.halved(number, by: 1)
            var sum = wider[place] ?? Piece()
            sum.sent += piece.sent
            sum.received += piece.received
            sum.errors += piece.errors
            sum.bytes += piece.bytes
            wider[place] = sum
        }
        places = wider
    }

    /// Rounded down, also below zero.
    private static func halved(_ number: Int64, by steps: Int) -> Int64 { number >> Int64(min(steps, 62)) }
}
