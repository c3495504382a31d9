import Foundation
import TrackerCore

/// The ring of the day as pixels, as a status item's host wants them: ARGB, 32 bits each, the most significant byte
/// first.
struct TrayRing: Hashable {
    let progress: Double
    let urgency: Urgency

    /// Hosts take the one that fits best, and scale it.
    static let sizes = [22, 44]
    /// Points in each direction that a pixel is looked at: edges are smooth.
    private static let samples = 4
    private static let track: (red: Double, green: Double, blue: Double, alpha: Double) = (0.56, 0.64, 0.68, 0.55)

    private var colour: (red: Double, green: Double, blue: Double, alpha: Double) {
        // #42A5F5, #FFB300, #E53935: tracker law B6.
        switch urgency {
        case .onTrack: (0x42 / 255, 0xA5 / 255, 0xF5 / 255, 1)
        case .attention: (1, 0xB3 / 255, 0, 1)
        case .overdue: (0xE5 / 255, 0x39 / 255, 0x35 / 255, 1)
        }
    }

    /// All pixels of a square, row by row.
    func pixels(_ size: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size * size * 4)
        let step = 1 / Double(size * Self.samples)
        for y in 0..<size {
            for x in 0..<size {
                var sum = (red: 0.0, green: 0.0, blue: 0.0, alpha: 0.0)
                for row in 0..<Self.samples {
                    for column in 0..<Self.samples {
                        guard
                            let found = point(
                                (Double(x * Self.samples + column) + 0.5) * step - 0.5,
                                (Double(y * Self.samples + row) + 0.5) * step - 0.5)
                        else { continue }
                        sum.red += found.red * found.alpha
                        sum.green += found.green * found.alpha
                        sum.blue += found.blue * found.alpha
                        sum.alpha += found.alpha
                    }
                }
                let count = Double(Self.samples * Self.samples)
                func byte(_ value: Double) -> UInt8 { UInt8(min(255, max(0, (value * 255).rounded()))) }
                let isThere = sum.alpha > 0
                bytes += [
                    byte(sum.alpha / count), byte(isThere ? sum.red / sum.alpha : 0),
                    byte(isThere ? sum.green / sum.alpha : 0), byte(isThere ? sum.blue / sum.alpha : 0),
                ]
            }
        }
        return bytes
    }

    /// Of a point of the square from −0.5 to 0.5: the ring from the top to the right, what is left of it, and a point
    /// in the middle where it is late.
    private func point(_ x: Double, _ y: Double) -> (red: Double, green: Double, blue: Double, alpha: Double)? {
        let radius = (x * x + y * y).squareRoot()
        if radius < 0.13 { return urgency == .overdue ? colour : nil }
        guard (0.32...0.48).contains(radius) else { return nil }
        let turn = atan2(x, -y) / (2 * .pi)
        return (turn < 0 ? turn + 1 : turn) < progress ? colour : Self.track
    }
}
