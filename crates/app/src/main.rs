fn main() {
    mainspring_engine::execute::shim::shim_main_if_asked();
}
