import BottleProtocol
import Testing

/// Protocol section 1.
@Suite struct ModelNameTests {
    static let names: [(String, BottleModel?)] = [
        ("WaterH-Boost-24oz", .boost), ("waterh-boost-24OZ", .boost), ("WaterH-Bottle-B003", .boost),
        ("WaterH-Bottle-1", .vita), ("WaterH-Bottle-1\0", .vita),
        ("WaterH-Vita", .vita), ("WaterH", nil), ("WaterH-Bottle-2", nil), ("WaterH-Bottle-Blue", nil), ("Boost", nil),
        ("", nil),
    ]

    @Test(arguments: names)
    func `the advertised name determines the model`(name: String, model: BottleModel?) {
        #expect(BottleModel(advertisedName: name) == model)
    }
}
