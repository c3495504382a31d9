import DBus
import DBusSupport
import Testing

@testable import CommandSupport

@Suite struct HostClockTests {
    @Test(arguments: [true, false]) func `the clock is synchronised if timedate1 reports it`(isSynchronised: Bool)
        async throws
    {
        let bus = try await PrivateBus()
        defer { bus.stop() }
        let service = try await bus.connect()
        let interface = DBusInterface(
            "org.freedesktop.timedate1", properties: ["NTPSynchronized": .boolean(isSynchronised)])
        await service.export("/org/freedesktop/timedate1", [interface])
        #expect(try await service.requestName("org.freedesktop.timedate1"))
        #expect(await Machine.isSynchronisedByTimedate(.address(bus.address)) == isSynchronised)
        await service.close()
        #expect(await Machine.isSynchronisedByTimedate(.address(bus.address)) == nil)
    }

    @Test func `the clock is unknown when there is no bus`() async {
        #expect(await Machine.isSynchronisedByTimedate(.address("unix:path=/nonexistent/bus")) == nil)
    }
}
