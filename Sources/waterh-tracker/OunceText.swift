import ArgumentParser
import TrackerCore

/// What stands behind an option that asks for ounces.
enum OunceText {
    static func value(_ text: String) throws -> Double {
        guard let oz = Ounces.typed(text) else {
            throw ValidationError("'\(text)' is no amount: write 8, 8.5oz or 250ml.")
        }
        return oz
    }
}
