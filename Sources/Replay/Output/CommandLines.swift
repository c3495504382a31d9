import BottleProtocol

/// Writes commands, one a line.
public final class CommandLines {
    private let out: LineBuffer
    private let moments = MomentWriter()

    public init(_ out: LineBuffer) { self.out = out }

    /// A line of `waterh-replay commands --json`.
    public func json(_ command: ObservedCommand) {
        object(command)
        out.endLine()
    }

    func object(_ command: ObservedCommand) {
        out.put(#"{"frame":"#)
        out.put(number: command.frame)
        out.put(#","capturedAt":"#)
        moments.json(command.time, out)
        out.put(#","bottle":"#)
        out.put(json: command.bottle.address?.description)
        out.put(#","hex":""#)
        out.put(hex: command.bytes)
        out.put(#"","meaning":"#)
        out.put(json: command.meaning)
        out.put("}")
    }

    public func text(_ command: ObservedCommand) {
        if let time = command.time {
            moments.text(time, out)
            out.put("  ")
        }
        out.put(text: command.bottle.label)
        out.put("  frame ")
        out.put(number: command.frame)
        out.put(text: "  \(command.meaning)  [")
        out.put(hex: command.bytes)
        out.put("]\n")
    }
}
