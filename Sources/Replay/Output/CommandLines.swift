import Bluetooth
import BottleProtocol

/// Writes commands to bottles, one per line, for `waterh-replay commands`.
package final class CommandLines {
    private let out: LineBuffer
    private let timestampWriter = TimestampWriter()

    private let isColoured: Bool

    /// - Parameter isColoured: whether terminal escapes highlight the meaning of the command.
    package init(_ out: LineBuffer, isColoured: Bool = false) {
        self.out = out
        self.isColoured = isColoured
    }

    package func json(_ command: ObservedCommand) {
        object(command)
        out.endLine()
    }

    func object(_ command: ObservedCommand) {
        out.put(text: #"{"frame":\#(command.frame),"capturedAt":"#)
        timestampWriter.json(command.time, out)
        out.put(#","bottle":"#)
        out.put(json: command.bottle.address?.description)
        out.put(#","hex":""#)
        out.put(hex: command.bytes)
        out.put(#"","meaning":"#)
        out.put(json: command.meaning)
        out.put("}")
    }

    package func text(_ command: ObservedCommand) {
        if let time = command.time {
            timestampWriter.text(time, out)
            out.put("  ")
        }
        let meaning = isColoured ? "\u{1B}[1m\(command.meaning)\u{1B}[0m" : command.meaning
        out.put(text: "\(command.bottle.label)  frame \(command.frame)  \(meaning)  [")
        out.put(hex: command.bytes)
        out.put("]\n")
    }
}
