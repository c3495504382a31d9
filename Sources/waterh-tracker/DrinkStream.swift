import CommandSupport
import Utilities
import Store
import Synchronization
import TrackerCore
import TrackerService

/// `export` as a stream of lines: what there is behind a position, and with `--follow` what comes. Between two looks
/// nothing is open and nothing is kept: a reader that does not read costs one line that waits.
struct DrinkStream: Sendable {
    /// So many bytes of whole lines go out in one piece: no more, so that a pipe takes them whole or not at all.
    private static let piece = 4096
    private static let batch = 500

    let options: StoreOptions
    let place: StorePlace
    let format: DrinkLines.Format

    /// How far the reader is.
    private struct Reader {
        var format: DrinkLines
        var position: Int64
        /// All that it was told, as of the last time that it had everything.
        var known: Int64
        var isAtBeginning: Bool
        /// Of which file it was told.
        var file: FileIdentity?
        var trouble: String?
        /// Pieces of whole lines up to `position` that are still to be written; of the first a part may be: it goes on
        /// from there.
        var owed: [[UInt8]] = []

        mutating func pay(_ out: OutputFile) throws {
            while !owed.isEmpty {
                try out.drain(&owed[0])
                owed.removeFirst()
            }
        }
    }

    /// - Parameter position: what the reader has already; `nil`: nothing.
    func run(after position: Int64?, isFollowing: Bool) async throws {
        let reader = Mutex(
            Reader(
                format: DrinkLines(format), position: position ?? 0, known: position ?? 0,
                isAtBeginning: position == nil))
        guard isFollowing else { return try reader.withLock { try tell(&$0) } }
        try await StoreFollow(place: place).run { look(reader) }
    }

    private func look(_ reader: borrowing Mutex<Reader>) -> Duration {
        reader.withLock { reader in
            do {
                try tell(&reader)
                reader.trouble = nil
            } catch is OutputFile.NobodyReads {
                // Whoever watches the output ends us.
            } catch {
                let sentence = Escaping.replacing("\(Failures.explained(error))", ["\n": " "])
                if reader.trouble != sentence { Diagnostics.warning(sentence) }
                reader.trouble = sentence
                return DayFollower.longestPause
            }
            // Time alone changes no drink.
            return .seconds(3600)
        }
    }

    private func tell(_ reader: inout Reader) throws {
        // Before it is opened: of one that takes its place now, the next look tells.
        let file = FileIdentity(place.path)
        let store = try DeskOpening(options, place: place).desk(for: .looking).store
        let out = try OutputFile("-")
        if reader.isAtBeginning {
            reader.owed.append(Array(reader.format.opening.utf8))
            reader.isAtBeginning = false
        }
        try reader.pay(out)
        // It may come back as it was.
        if store.found == .nothing, reader.position > 0 { return }
        let last = try store.lastDrinkPlace()
        let isAnother = reader.file != nil && file != nil && reader.file != file
        if try reader.position > 0 && (isAnother || !store.isDrinkPlace(reader.position)) {
            Diagnostics.warning(
                "Another store has taken its place, or it was purged or restored: all of it is told anew.")
            (reader.position, reader.known) = (0, 0)
        }
        if file != nil { reader.file = file }
        while reader.position < last {
            let found = try store.drinkLines(
                after: reader.position, known: reader.known, through: last, limit: Self.batch)
            var bytes: [UInt8] = []
            for line in found.lines {
                let whole = bytes.count
                reader.format.append(line, to: &bytes)
                guard bytes.count > Self.piece, whole > 0 else { continue }
                reader.owed.append(Array(bytes[..<whole]))
                bytes.removeFirst(whole)
            }
            reader.owed.append(bytes)
            reader.position = found.position
            try reader.pay(out)
        }
        reader.known = last
    }
}
