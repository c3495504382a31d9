/// A fault of the bottle, as `waterh-emulator faults` lists it.
package struct BottleFaultWord: Sendable {
    enum Kind: @unchecked Sendable {
        // Key paths to stored properties of a value type are safe to send, although their type is not Sendable.
        case plain(WritableKeyPath<BottleFaults, Bool>)
        case number(WritableKeyPath<BottleFaults, Int>, ClosedRange<Int>)
    }

    package let name: String
    /// An example, with a number if the fault has one.
    package let example: String
    package let meaning: String
    let kind: Kind

    private init(_ name: String, _ path: WritableKeyPath<BottleFaults, Bool>, _ meaning: String) {
        (self.name, example, self.meaning, kind) = (name, name, meaning, .plain(path))
    }

    private init(
        _ name: String, _ path: WritableKeyPath<BottleFaults, Int>, _ range: ClosedRange<Int>, _ example: Int,
        _ meaning: String
    ) {
        (self.name, self.example, self.meaning, kind) = (name, "\(name)=\(example)", meaning, .number(path, range))
    }

    private static let percent = 0...100
    private static let milliseconds = 0...600_000

    package static var all: [BottleFaultWord] {
        [
            BottleFaultWord("drop", \.drop, percent, 5, "that many percent of the notifications never leave"),
            BottleFaultWord("twice", \.twice, percent, 10, "that many percent of the notifications leave twice"),
            BottleFaultWord("slow", \.slow, milliseconds, 300, "each answer comes that many milliseconds late"),
            BottleFaultWord("gap", \.gap, milliseconds, 50, "that many milliseconds pass between two notifications"),
            BottleFaultWord(
                "ignore", \.ignore, percent, 20,
                "that many percent of the commands are ignored; 100: the bottle never answers"),
            BottleFaultWord(
                "early", \.early, milliseconds, 500,
                "commands are ignored for that many milliseconds after the subscription (a real bottle's habit)"),
            BottleFaultWord(
                "unasked", \.unasked, milliseconds, 500,
                """
                who subscribes and asks nothing for that many milliseconds is told state and log (a real bottle's \
                habit)
                """
            ),
            BottleFaultWord(
                "hang-up", \.hangUp, 1...1_000_000, 12, "each connection drops instead of its N-th notification"),
            BottleFaultWord(
                "hang-up-once", \.hangUpOnce, 1...1_000_000, 12,
                "the first connection drops instead of its N-th notification"),
            BottleFaultWord(
                "refuse", \.refuse, 0...1_000_000, 2,
                "the first N connections drop at once (the table may have been read by then)"),
            BottleFaultWord("cut", \.cut, percent, 5, "that many percent of the notifications lack their last bytes"),
            BottleFaultWord(
                "split", \.split, 1...512, 20, "everything goes out in pieces of at most N bytes, cut anywhere"),
            BottleFaultWord("shuffle", \.shuffle, "log entries go out in any order, as parallel bearers deliver them"),
            BottleFaultWord(
                "restart", \.restart, percent, 50, "that many percent of the log transfers begin anew in the middle"),
            BottleFaultWord(
                "interleave", \.interleave, percent, 30,
                "that many percent of the log's notifications have a report before them"),
            BottleFaultWord(
                "length", \.length, percent, 10, "the length field of that many percent of the frames lies"),
            BottleFaultWord(
                "entry", \.entry, percent, 10, "the size byte of that many percent of the log's entries lies"),
            BottleFaultWord(
                "lie", \.lie, percent, 50, "that many percent of the log answers say the opposite of what is stored"),
            BottleFaultWord(
                "foreign", \.foreign, percent, 20,
                "that many percent of the answers are words of another maker's bottle"),
            BottleFaultWord("endless", \.endless, "rubbish is notified after the log for as long as somebody listens"),
            BottleFaultWord(
                "forget", \.forget, percent, 50,
                "that many percent of the acknowledgements are forgotten: those records come again"),
            BottleFaultWord(
                "counts", \.counts,
                "an acknowledgement drops the N oldest records there are when it comes, whatever was sent"),
            BottleFaultWord(
                "frame", \.frame, 0...4680, 16,
                "the retail log goes out in frames of at most N records (one frame without this word)"),
            BottleFaultWord(
                "resend", \.resend, 0...500, 8, "the last N acknowledged records are sent again with the next ones"),
            BottleFaultWord(
                "ring", \.ring, 1...5000, 20, "the log holds N records and loses its oldest (500 without this word)"),
            BottleFaultWord(
                "drift", \.drift, -100_000...100_000, 200, "the clock is N millionths fast, or slow if negative"),
            BottleFaultWord(
                "step", \.step, -100_000_000...100_000_000, 3600, "the clock jumps N seconds at each connection"),
            BottleFaultWord(
                "power", \.power, 1...1_000_000, 1,
                "power is lost when the N-th connection ends: the clock restarts at zero"),
            BottleFaultWord(
                "keep-alive", \.keepAlive, "a third characteristic notifies every 5 s, as on some real bottles"),
        ]
    }
}
