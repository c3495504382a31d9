import Bluetooth
import Emulator

/// A fault plan as it is typed: the bottle's words and the link's in one list.
struct FaultWords {
    var bottle: BottleFaults
    /// `nil`: no word of the link's.
    var link: FaultPlan?

    init(_ text: String) throws {
        let words = text.split(separator: ",").map { $0.filter { $0 != " " } }
        let own = words.filter { !FaultPlan.knows($0) }
        let others = words.filter(FaultPlan.knows)
        bottle = try BottleFaults(own.joined(separator: ","))
        link = others.isEmpty ? nil : try FaultPlan(others.joined(separator: ","))
    }
}
