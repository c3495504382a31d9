import BottleProtocol
import TrackerCore

/// The patterns of a reminder on a bottle's light: steady amber, then breathing red and a flash, then dark.
enum LightPlan {
    static func commands(for light: BottleLight) -> [HostCommand] {
        switch light {
        case .off: [.light(ReminderLight(mode: 0, red: 0, green: 0, blue: 0))]
        case .gentle: [.light(ReminderLight(mode: 2, red: 0xFF, green: 0xB3, blue: 0))]
        case .strong: [.light(ReminderLight(mode: 1, red: 0xE5, green: 0x39, blue: 0x35)), .flash]
        }
    }
}
