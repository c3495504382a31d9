/// A fault of the emulated bottle: its name, meaning and range, as `waterh-emulator faults` lists them.
package struct BottleFaultOption: Sendable {
    enum Kind: Sendable {
        case flag(any WritableKeyPath<BottleFaults, Bool> & Sendable)
        case number(any WritableKeyPath<BottleFaults, Int> & Sendable, ClosedRange<Int>)
    }

    package let name: String
    /// An example of the fault in a plan, such as `drop=5`.
    package let example: String
    package let meaning: String
    let kind: Kind

    private init(_ name: String, _ path: any WritableKeyPath<BottleFaults, Bool> & Sendable, _ meaning: String) {
        (self.name, example, self.meaning, kind) = (name, name, meaning, .flag(path))
    }

    private init(
        _ name: String, _ path: any WritableKeyPath<BottleFaults, Int> & Sendable, _ range: ClosedRange<Int>,
        _ example: Int,
        _ meaning: String
    ) {
        (self.name, self.example, self.meaning, kind) = (name, "\(name)=\(example)", meaning, .number(path, range))
    }

    private static let percent = 0...100
    private static let milliseconds = 0...600_000

    package static var all: [BottleFaultOption] {
        [
            BottleFaultOption("drop", \.drop, percent, 5, "N percent of the notifications are lost"),
            BottleFaultOption("twice", \.twice, percent, 10, "N percent of the notifications are sent twice"),
            BottleFaultOption("slow", \.slow, milliseconds, 300, "each response is N ms late"),
            BottleFaultOption("gap", \.gap, milliseconds, 50, "N ms between two notifications"),
            BottleFaultOption(
                "ignore", \.ignore, percent, 20,
                "N percent of the commands are ignored; 100: the bottle never responds"),
            BottleFaultOption(
                "early", \.early, milliseconds, 500,
                "commands are ignored for N ms after the subscription (a quirk of a real bottle)"),
            BottleFaultOption(
                "unasked", \.unasked, milliseconds, 500,
                """
                sends state and log to a subscriber without requests after N ms (a quirk of a real bottle)
                """
            ),
            BottleFaultOption(
                "hang-up", \.hangUp, 1...1_000_000, 12,
                "each connection is dropped instead of sending its N-th notification"),
            BottleFaultOption(
                "hang-up-once", \.hangUpOnce, 1...1_000_000, 12,
                "the first connection is dropped instead of sending its N-th notification"),
            BottleFaultOption(
                "refuse", \.refuse, 0...1_000_000, 2,
                "the first N connections are dropped at once (the client might already have discovered the services)"),
            BottleFaultOption("cut", \.cut, percent, 5, "N percent of the notifications lack their last bytes"),
            BottleFaultOption(
                "split", \.split, 1...512, 20, "all data is sent in pieces of at most N bytes"),
            BottleFaultOption(
                "shuffle", \.shuffle, "log entries are sent in random order, as over parallel ATT bearers"),
            BottleFaultOption(
                "restart", \.restart, percent, 50, "N percent of the log transfers restart in the middle"),
            BottleFaultOption(
                "interleave", \.interleave, percent, 30,
                "N percent of the log's notifications follow a report"),
            BottleFaultOption(
                "length", \.length, percent, 10, "N percent of the frames have a wrong length field"),
            BottleFaultOption(
                "entry", \.entry, percent, 10, "N percent of the log's entries have a wrong size byte"),
            BottleFaultOption(
                "lie", \.lie, percent, 50, "N percent of the log responses contradict the stored log"),
            BottleFaultOption(
                "foreign", \.foreign, percent, 20,
                "N percent of the responses are those of another maker's bottle"),
            BottleFaultOption("endless", \.endless, "invalid data is sent after the log while a central is subscribed"),
            BottleFaultOption(
                "forget", \.forget, percent, 50,
                "N percent of the acknowledgements are ignored: those records are sent again"),
            BottleFaultOption(
                "counts", \.counts,
                "an acknowledgement of N records deletes the N oldest ones, even if they were not sent"),
            BottleFaultOption(
                "frame", \.frame, 0...4680, 16,
                "the retail log is sent in frames of at most N records (one frame without this fault)"),
            BottleFaultOption(
                "resend", \.resend, 0...500, 8, "the last N acknowledged records are sent again with the next ones"),
            BottleFaultOption(
                "ring", \.ring, 1...5000, 20,
                "the log has room for N records and loses its oldest (500 without this fault)"),
            BottleFaultOption(
                "drift", \.drift, -100_000...100_000, 200, "the clock is N millionths fast, or slow if negative"),
            BottleFaultOption(
                "step", \.step, -100_000_000...100_000_000, 3600, "the clock jumps N seconds at each connection"),
            BottleFaultOption(
                "power", \.power, 1...1_000_000, 1,
                "power is lost when the N-th connection ends: the clock restarts at zero"),
            BottleFaultOption(
                "keep-alive", \.keepAlive, "a third characteristic notifies every 5 s, as on some real bottles"),
        ]
    }
}
