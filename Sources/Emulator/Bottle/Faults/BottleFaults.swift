/// A bottle's bad day, in words: `drop=5,slow=300,hang-up=12`. All of it is repeatable from the seed.
///
/// These are the bottle's own; the link has words, too (`FaultPlan` of Bluetooth), none of them twice.
package struct BottleFaults: Hashable, Sendable {
    /// Percent of notifications that never leave.
    package var drop = 0
    /// Percent of notifications that leave twice.
    package var twice = 0
    /// Milliseconds before each answer.
    package var slow = 0
    /// Milliseconds between two notifications.
    package var gap = 0
    /// Percent of commands that are ignored.
    package var ignore = 0
    /// Milliseconds after the subscription during which commands are ignored.
    package var early = 0
    /// Milliseconds after which a listener that asks nothing is told state and log unasked; 0: never.
    package var unasked = 0
    /// Drops the connection instead of the N-th notification of each connection.
    package var hangUp = 0
    /// The same, in the first connection only.
    package var hangUpOnce = 0
    /// Drops the first N connections as soon as they stand.
    package var refuse = 0
    /// Percent of notifications that lack their last bytes.
    package var cut = 0
    /// Sends log and answers in pieces of at most so many bytes.
    package var split = 0
    /// Log entries after the first go out in any order.
    package var shuffle = false
    /// Percent of log transfers that begin anew in the middle.
    package var restart = 0
    /// Percent of log notifications with a report in front of them.
    package var interleave = 0
    /// Percent of frames whose length field lies.
    package var length = 0
    /// Percent of log entries whose n lies.
    package var entry = 0
    /// Percent of answers that say the opposite: records that are not there, or none where there are.
    package var lie = 0
    /// Percent of answers in words that no WaterH bottle knows.
    package var foreign = 0
    /// After the log, notifies rubbish for as long as somebody listens.
    package var endless = false
    /// Percent of acknowledgements that the bottle forgets: it sends those records again.
    package var forget = 0
    /// An acknowledgement drops so many of the oldest records that are there when it arrives, whatever was sent.
    package var counts = false
    /// Records in one PT frame of the log; 0: the whole log is one frame.
    package var frame = 0
    /// Sends records again that were acknowledged, beside the new ones: the last N.
    package var resend = 0
    /// Records that the ring holds.
    package var ring = 500
    /// Parts per million by which the clock is fast, or slow if negative.
    package var drift = 0
    /// Seconds by which the clock jumps at each connection.
    package var step = 0
    /// Power is lost when the N-th connection ends.
    package var power = 0
    /// A third characteristic notifies every 5 s.
    package var keepAlive = false

    /// A bottle that does nothing wrong.
    package init() {}

    /// A word that does not exist, or a number that it can not take.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        /// Which word it is, and what is wrong with it.
        package let description: String
    }

    /// From `WORD[=NUMBER],…`. An empty text is a good day.
    package init(_ text: String) throws(Malformed) {
        for part in text.split(separator: ",") {
            let pieces = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                $0.filter { $0 != " " }
            }
            guard let name = pieces.first, let word = BottleFaultWord.all.first(where: { $0.name == name }) else {
                throw Malformed(description: "'\(part)' is no fault of a bottle")
            }
            switch (word.kind, pieces.count > 1 ? Int(pieces[1]) : nil) {
            case (.plain(let path), _) where pieces.count == 1: self[keyPath: path] = true
            case (.number(let path, let range), let number?) where range.contains(number): self[keyPath: path] = number
            case (.plain, _): throw Malformed(description: "'\(name)' takes no number: write '\(name)'")
            case (.number(_, let range), _):
                throw Malformed(
                    description:
                        """
                        '\(name)' takes a number from \(range.lowerBound) to \(range.upperBound): for example \
                        '\(word.example)'
                        """
                )
            }
        }
    }

    /// The words in which it differs from a good day: `init(_:)` reads them.
    package var text: String { words.joined(separator: ",") }

    /// The same, each by itself.
    package var words: [String] {
        let good = BottleFaults()
        return BottleFaultWord.all.compactMap { word in
            switch word.kind {
            case .plain(let path): self[keyPath: path] ? word.name : nil
            case .number(let path, _):
                self[keyPath: path] == good[keyPath: path] ? nil : "\(word.name)=\(self[keyPath: path])"
            }
        }
    }
}
